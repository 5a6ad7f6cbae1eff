"""Runs that are counted and not kept."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table of counts."""
    op.create_table(
        "counted_runs",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("task", sa.String(32), nullable=False),
        sa.Column("duration_ms", sa.Double(), nullable=False),
        sa.Column("failed", sa.Boolean(), nullable=False),
        sa.Column("day_utc", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("number"),
    )


def downgrade() -> None:
    """Drop the counts."""
    op.drop_table("counted_runs")
