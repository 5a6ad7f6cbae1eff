"""The keys under which owners let others see a run."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table; no run is shared at first."""
    op.create_table(
        "shared_runs",
        sa.Column("key", sa.String(64), nullable=False),
        sa.Column("run_id", sa.String(32), nullable=False),
        sa.Column("created_utc", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("key"),
        sa.UniqueConstraint("run_id"),
    )


def downgrade() -> None:
    """Drop the table: every link stops working."""
    op.drop_table("shared_runs")
