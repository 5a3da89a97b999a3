//! How Argo CD is reached: ARGOCD_SERVER, ARGOCD_AUTH_TOKEN, ARGOCD_OPTS.

/// How Argo CD is reached. The token never shows in its debug form.
#[derive(Debug, Clone)]
pub struct ArgoCdSettings {}
