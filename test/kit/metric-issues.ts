/** Suffixes of samples, and of units that are not base units (https://prometheus.io/docs/practices/naming/). */
const SAMPLE = /_(bucket|sum|count)$/
const OTHER_UNITS =
  /_(ms|millis|milliseconds|microseconds|minutes|hours|days|kb|mb|gb|kilobytes|megabytes|percent)(_|$)/

/** Values that no label may have: an id, a host, a key, a number of more than six digits. */
const CARDINAL = /[0-9a-f]{8}-[0-9a-f]{4}-|\.(test|invalid|com)\b|key_|\d{7,}/

interface Family {
  readonly help: boolean
  readonly type: string
}

/** Issues of metric names in Prometheus' text format, by the rules of its own linter. */
export const metricIssues = (page: string): string[] => {
  const families = new Map<string, Family>()
  const issues: string[] = []
  for (const line of page.split('\n')) {
    const [, kind, name = '', rest = ''] = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line) ?? []
    if (kind === 'HELP') families.set(name, { help: rest !== '', type: 'untyped' })
    if (kind === 'TYPE') families.set(name, { help: families.get(name)?.help ?? false, type: rest })
    const [, sample, labels = ''] = /^([^#{\s]+)(\{.*\})? \S+$/.exec(line) ?? []
    if (sample === undefined) continue
    if (!families.has(sample) && !families.has(sample.replace(SAMPLE, '')))
      issues.push(`${sample} has no type`)
    for (const [, label = '', value = ''] of labels.matchAll(/(\w+)="([^"]*)"/g)) {
      if (!/^[a-z][a-z0-9_]*$/.test(label)) issues.push(`${sample} has the label ${label}`)
      if (CARDINAL.test(value)) issues.push(`${sample} has a value of ${label} that others may not have`)
    }
  }
  for (const [name, { help, type }] of families) {
    // Stock names of Node's own metrics, as the Prometheus client has them.
    if (/^(?:process|nodejs)_/.test(name)) continue
    if (!/^sidevault_[a-z0-9_]+$/.test(name)) issues.push(`${name} is not in our part of the names`)
    if (!help) issues.push(`${name} has no help`)
    if ((type === 'counter') !== name.endsWith('_total')) issues.push(`${name} is a ${type}`)
    if (SAMPLE.test(name)) issues.push(`${name} ends as samples do`)
    if (/_(counter|gauge|histogram|summary)(_|$)/.test(name)) issues.push(`${name} names its type`)
    if (OTHER_UNITS.test(name)) issues.push(`${name} is in no base unit`)
    if (type === 'histogram' && !name.endsWith('_seconds')) issues.push(`${name} has no unit`)
  }
  return issues
}
