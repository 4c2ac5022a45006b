#!/bin/sh
# A backup, and removal of those older than 30 days; for cron (backup.cron). Exit code 1, and nothing is removed, when the backup
# fails or the audit log is broken.
set -eu
cd "$(dirname "$0")"
docker compose exec -T admin node bin/sidevault.js backup "/backups/sidevault-$(date -u +%Y%m%dT%H%M%SZ).backup"
docker compose exec -T admin node bin/sidevault.js audit verify --rows
find backups -name 'sidevault-*.backup' -type f -mtime +30 -delete
