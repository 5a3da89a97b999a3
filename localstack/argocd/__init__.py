"""A double of Argo CD's cluster API, as argocd-server v3.5.1 answers it. Standard library only."""
