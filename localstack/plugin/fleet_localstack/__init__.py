"""An EKS provider for LocalStack community, and what AWS does that emulators hide: delays, refusals, lost replies."""
