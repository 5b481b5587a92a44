"""Services of telemetry: plain functions with keyword-only arguments, the actor first."""
