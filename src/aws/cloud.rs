//! The services of one account and region, what reads and what changes apart.

/// The services of one account and region. Readers and writers are apart: whoever holds
/// [`Readers`] alone cannot change anything.
#[derive(Debug, Clone)]
pub struct Cloud {
    /// What reads.
    pub readers: Readers,
    /// What changes.
    pub writers: Writers,
}

/// What reads.
#[derive(Debug, Clone)]
pub struct Readers {
    /// EC2.
    pub ec2: super::ec2::Reader,
    /// EKS.
    pub eks: super::eks::Reader,
    /// IAM.
    pub iam: super::iam::Reader,
    /// Service Quotas.
    pub quotas: super::servicequotas::Reader,
    /// Argo CD, when a server is configured.
    pub argocd: Option<crate::argocd::Reader>,
}

/// What changes.
#[derive(Debug, Clone)]
pub struct Writers {
    /// EC2.
    pub ec2: super::ec2::Writer,
    /// EKS.
    pub eks: super::eks::Writer,
    /// IAM.
    pub iam: super::iam::Writer,
    /// Argo CD, when a server is configured.
    pub argocd: Option<crate::argocd::Writer>,
}
