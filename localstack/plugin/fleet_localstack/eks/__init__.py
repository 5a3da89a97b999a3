"""The EKS control plane: state per account and region, transitions on the clock, refusals as AWS has them."""
