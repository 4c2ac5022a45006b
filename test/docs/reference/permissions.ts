import { loadRegistry } from '../../../src/commands/operations.ts'
import { loadConfig } from '../../../src/config.ts'
import type { Registry } from '../../../src/kernel/types.ts'
import { code, type Page, page, table } from './markdown.ts'

/** What the plugins of the project bring. */
export const builtIn = (): Promise<Registry> => loadRegistry(loadConfig({}))

export const permissions: Page = {
  name: 'permissions',
  text: async () => {
    const { permissions: all, operations } = await builtIn()
    const neededBy = (type: string) =>
      operations.filter(({ permission }) => permission === type).map(({ http }) => code(http))
    return page(
      'Permissions',
      `Each application has a type, and permissions or access rules. A permission that the type does not allow is 400. Plain
permissions hold on all containers; an access rule holds on a container and those below it ([concepts](../concepts.md#access)).`,
      table(
        ['Permission', 'Application types', 'Meaning', 'Operations'],
        all.map(({ type, application_types, description }) => [
          code(type),
          application_types.join(', '),
          description,
          neededBy(type).join(', '),
        ]),
      ),
      `\`token:use\` lets a caller send values through \`/proxy\` and to reactors: it means *reveal*. Operations that need any valid key:
${neededBy('any key').join(', ')}. Operations for the key of a public application: ${neededBy('public key').join(', ')}; of a private one:
${neededBy('private key').join(', ')}.`,
    )
  },
}
