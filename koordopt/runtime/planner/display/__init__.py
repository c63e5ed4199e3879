"""What a person or a program sees: figures, tables, JSON, YAML and the report."""
