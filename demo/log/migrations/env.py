"""Alembic's entry: run the migrations on the connection that `demo.log.database.migrate` holds."""

from alembic import context

from demo.log.repository import Base

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Base.metadata,
    render_as_batch=True,
    transactional_ddl=True,
)
with context.begin_transaction():
    context.run_migrations()
