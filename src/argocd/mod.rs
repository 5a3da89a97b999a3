//! The Argo CD client: clusters over its REST API.
