"""What the local AWS and the Argo CD double do that plain emulators do not. Run with `localstack/check`."""
