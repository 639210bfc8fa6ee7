"""Who works: one module a kind of worker, all pure; ``catalog`` lists them."""
