"""What the service costs, measured side by side with what it is compared to; docs/performance.md tells how to read
it."""
