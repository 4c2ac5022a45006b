import { parse } from 'yaml'
import { printConfig } from '../../../src/config/print.ts'
import { liveChanges } from '../../../src/config/reloadable.ts'
import { settingNames, settingOf, variableOf } from '../../../src/config/schema.ts'
import { fileVariableOf, secretNames } from '../../../src/config/variables.ts'
import { loadConfig } from '../../../src/config.ts'
import { code, type Page, page, table } from './markdown.ts'

/** Settings whose default depends on others: the description has it. */
const DERIVED = new Set(['console'])

const shown = (value: unknown): string => {
  const empty = value === undefined || (typeof value === 'object' && Object.keys(value ?? {}).length === 0)
  return empty ? 'unset' : code(String(value))
}

export const configuration: Page = {
  name: 'configuration',
  text: () => {
    const defaults: Readonly<Record<string, unknown>> = parse(
      printConfig(loadConfig({}, { cwd: '/' })).replace('/.sidevault', '.sidevault'),
    )
    const all = (value: string) => Object.fromEntries(settingNames.map((name) => [name, value]))
    const live = new Set(liveChanges(all('former'), all('changed'), {}).applied)
    const rows = settingNames.map((name) => [
      code(variableOf(name)),
      DERIVED.has(name) ? 'unset' : shown(defaults[name]),
      live.has(name) ? 'reload' : 'restart',
      settingOf(name).description,
    ])
    return page(
      'Configuration',
      `Settings are environment variables, or members of a JSON or YAML file. \`SIDEVAULT_CONFIG\` or \`--config\` names the file.
The environment wins. A member has the name of its variable, in lower case and without \`SIDEVAULT_\`: \`egress_ports\` is
\`SIDEVAULT_EGRESS_PORTS\`. In a variable, commas separate the items of a list, and an object is JSON.`,
      '```yaml\nlisten: 127.0.0.1:8080\nstore: postgres://sidevault@db.internal/sidevault\negress_ports: [443, 8443]\n```',
      `Sidevault reports every invalid setting at once and does not start. That includes a variable
\`SIDEVAULT_…\` or a member that is no setting. Variables that Kubernetes sets for a service named \`sidevault\`, and those of clients in
the guides, are left alone. \`sidevault config print\` prints the settings in force as such a file, without secrets.`,
      `A secret can be in a file: ${secretNames.map((name) => code(fileVariableOf(name))).join(', ')} and
\`SIDEVAULT_EXPORT_PASSPHRASE_FILE\` name one. Its content is the value, without a line break at the end. Setting both variables is an error.
The file is read when a command or the service starts, and at a reload.`,
      `\`sidevault config schema\` prints the JSON Schema of the file, and the service serves it at \`/docs/config.schema.json\`. Editors complete
and check the file with it: \`# yaml-language-server: $schema=http://127.0.0.1:8080/docs/config.schema.json\` is a first line of YAML, and the
member \`$schema\` that of JSON.`,
      `"Reload" marks settings that \`sidevault reload\` applies without a restart. So does SIGHUP for a service without a terminal; in a
terminal SIGHUP stops it. All other settings wait for the next start, as does TLS that is turned on or off.`,
      table(['Variable', 'Default', 'Applied on', 'Meaning'], rows),
      '`ENVOY_BIN` names an Envoy binary (1.40 or later) of your own. `NODE_EXTRA_CA_CERTS` names authorities for `rediss://`. The `OTEL_` variables of OpenTelemetry turn on [traces](../guides/tracing.md#export-spans).',
    )
  },
}
