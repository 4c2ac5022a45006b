import { screens } from '../../src/console/screens.ts'
import type { FilledVault } from '../kit/demo-vault.ts'

/** The hash of every screen, with ids of the vault in the place of parameters. A new parameter needs an id here. */
export const allHashes = ({ ids }: Pick<FilledVault, 'ids'>): readonly string[] =>
  screens.map(({ path }) => {
    const [, resource = ''] = path.split('/')
    return `#${path.replace(/:\w+/, (parameter) => {
      const id = Object.entries(ids).find(([name]) => name === resource)?.[1]
      if (id === undefined)
        throw new Error(`test/console/all-screens.ts has no id for ${parameter} of ${path}`)
      return id
    })}`
  })
