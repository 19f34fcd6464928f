"""`script/eval`: what the product does, measured against what it set out to do."""
