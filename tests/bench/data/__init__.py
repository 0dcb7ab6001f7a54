"""What experiments run on: query sets, catalogues, their embeddings and stores."""
