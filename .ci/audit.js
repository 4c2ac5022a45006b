/**
 * Known vulnerabilities of production packages, by `npm audit` of the project in the current folder. Exit code 1 for one
 * of high or critical severity. A registry that returns no audit is reported, and changes nothing.
 */
import { spawnSync } from 'node:child_process'

const args = ['audit', '--omit=dev', '--package-lock-only', '--json', '--fetch-retries=1', '--loglevel=error']
const { stdout, stderr } = spawnSync('npm', args, { encoding: 'utf8' })

/** @typedef {{ severity: string, via: (string | { url: string })[] }} Vulnerability */
/** @type {{ message?: string, vulnerabilities?: Record<string, Vulnerability> }} */
let report = {}
try {
  report = JSON.parse(stdout)
} catch {
  report.message = stderr.trim() || stdout.trim()
}

if (report.vulnerabilities === undefined) {
  const reason = report.message ?? 'its response is no report'
  process.stdout.write(
    `${'!'.repeat(79)}\nNOT AUDITED: no response of the registry to "npm audit": ${reason}\n${'!'.repeat(79)}\n`,
  )
} else {
  const found = Object.entries(report.vulnerabilities)
  const severe = found.filter(([, { severity }]) => severity === 'high' || severity === 'critical')
  process.stdout.write(
    `npm audit: ${found.length} vulnerable production packages, ${severe.length} of high severity or above\n`,
  )
  for (const [name, { severity, via }] of found) {
    const causes = via.map((cause) => (typeof cause === 'string' ? `by ${cause}` : cause.url))
    process.stdout.write(`  ${severity}: ${name} ${causes.join(', ')}\n`)
  }
  if (severe.length > 0) process.exitCode = 1
}
