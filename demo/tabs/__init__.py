"""The tabs of the page: one per task with its form, result and handlers, then Inside, History and About."""
