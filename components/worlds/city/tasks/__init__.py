"""Tasks of the city: templates by site, the effects and answers that they ask for, and the oracles that do them."""
