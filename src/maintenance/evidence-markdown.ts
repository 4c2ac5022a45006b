import type { Evidence } from './evidence.ts'

/** Text of others (ids, messages) as a cell: neither Markdown nor HTML takes effect. */
const cell = (value: unknown): string => {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
  return text
    .replace(/[\s\p{Cc}\p{Cf}]+/gu, ' ')
    .replace(/&/g, '&amp;')
    .replace(/</g, '&lt;')
    .replace(/[\\`[|]/g, (sign) => `\\${sign}`)
}

const table = (titles: readonly string[], rows: readonly (readonly unknown[])[]): string =>
  rows.length === 0
    ? 'None.'
    : [titles, titles.map(() => '---'), ...rows.map((row) => row.map(cell))]
        .map((row) => `| ${row.join(' | ')} |`)
        .join('\n')

/** `evidence.json` for people. */
export const evidenceMarkdown = (evidence: Evidence): string => {
  const { created_at, since, versions, services, configuration, keys, audit, changes } = evidence
  const { root_key: root } = keys
  const sections = [
    '# Evidence of a Sidevault vault',
    `Collected at ${created_at}; changes since ${since}. docs/pci.md says which requirement each section is for. It has no values, keys or passwords.`,
    '## Versions',
    table(['Software', 'Version'], Object.entries(versions)),
    '## Services on this machine',
    table(
      ['Service'],
      services.map((service) => [service]),
    ),
    '## Configuration',
    table(['Setting', 'Value'], Object.entries(configuration)),
    '## Keys',
    `Root key ${root.id ?? 'of an unknown id'}, since ${root.since}: ${root.age_days} days.`,
    table(
      ['Tenant', 'Purpose', 'Version', 'Created', 'Age in days', 'Newest'],
      keys.keys.map((key) => [
        key.tenant_id || 'the service',
        key.purpose,
        key.version,
        key.created_at,
        key.age_days,
        key.newest ? 'yes' : 'no',
      ]),
    ),
    '## Audit log',
    audit.ok
      ? 'All journals and rows verify.'
      : '**Broken.** Run "sidevault audit verify", with and without --rows.',
    audit.not_stored > 0
      ? `${audit.not_stored} records are not in the store yet: their changes are missing below.`
      : '',
    '```json',
    JSON.stringify({ files: audit.files, rows: audit.rows }, undefined, 2),
    '```',
    '## Changes of rules and configuration',
    table(
      ['Time', 'Tenant', 'Entity', 'Id', 'Operation', 'By', 'Message'],
      changes.map((change) => [
        change.created_at,
        change.tenant_id || 'the service',
        change.entity_type,
        change.entity_id,
        change.operation,
        [change.actor_type, change.actor_id].filter(Boolean).join(' '),
        change.message,
      ]),
    ),
  ]
  return `${sections.filter((section) => section !== '').join('\n\n')}\n`
}
