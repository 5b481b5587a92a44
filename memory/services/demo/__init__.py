"""A believable owner to look around with: half a year of conversations, replayed at the times they speak of."""
