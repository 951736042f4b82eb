"""The shop's check-out with a payment step: oscar has none of its own. No cards, which no agent should ever type."""
