import { definePlugin, type PermissionInfo } from '#sdk'
import { Formulas, Reactors } from './collections.ts'
import { formulaOperations } from './formula-operations.ts'
import { reactorOperations } from './reactor-operations.ts'

const permission = (type: string, description: string): PermissionInfo => ({
  type,
  description,
  application_types: ['management'],
})

/**
 * Reactor formulas and the reactors made of them (interface, "Reactor formulas"; completions §8). One plugin, so that a
 * reactor and its formula change in one commit.
 */
export const plugin = definePlugin({
  api: 1,
  name: 'reactors',
  version: '1.0.0',
  requires: ['applications'],
  setup: (kernel) => ({
    operations: [...formulaOperations(kernel), ...reactorOperations(kernel)],
    collections: [Formulas, Reactors],
    permissions: [
      permission('reactor:create', 'Create reactors and reactor formulas'),
      permission('reactor:read', 'Read reactors and reactor formulas'),
      permission('reactor:update', 'Update reactors and reactor formulas'),
      permission('reactor:delete', 'Delete reactors and reactor formulas'),
    ],
  }),
})
