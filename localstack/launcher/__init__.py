"""Installs, starts and stops the local AWS and the Argo CD double. Standard library only."""
