import {
  checkActing,
  codeWarnings,
  EntityId,
  namedPage,
  nameFilter,
  retryOnConflict,
  throwIfInvalid,
} from '#kit'
import {
  AppError,
  type CodeWarning,
  defineOperation,
  Empty,
  listOf,
  newId,
  offsetPage,
  offsetQuery,
  type PluginContext,
  type Static,
  Type,
} from '#sdk'
import { type FormulaRecord, Formulas, Reactors } from './collections.ts'
import * as examples from './examples.ts'
import { formulaNotFound } from './not-found.ts'
import { elementIssues, parameterIssues, storedElements, storedParameters } from './parameters.ts'
import { FormulaInput, FormulaOutput, FormulaUpdate, formulaOutput } from './schemas.ts'

type Members = Omit<
  FormulaRecord,
  'id' | 'acting_reactors' | 'created_by' | 'created_at' | 'modified_by' | 'modified_at'
>

/** A valid request in stored form, with warnings about its code. Throws `invalid`. */
const parse = async (
  context: PluginContext,
  tenantId: string,
  input: Static<typeof FormulaInput>,
): Promise<{ readonly members: Members; readonly warnings: CodeWarning[] }> => {
  const configuration = input.configuration ?? []
  const parameters = input.request_parameters ?? []
  throwIfInvalid([...elementIssues(configuration), ...parameterIssues(parameters)])
  return {
    members: {
      name: input.name,
      ...(typeof input.description === 'string' ? { description: input.description } : {}),
      type: input.type,
      status: 'verified',
      ...(typeof input.icon === 'string' ? { icon: input.icon } : {}),
      code: input.code,
      configuration: storedElements(configuration),
      request_parameters: storedParameters(parameters),
    },
    warnings: await codeWarnings(context, tenantId, { code: input.code }),
  }
}

/** Operations on formulas (interface, "Reactor formulas"). */
export const formulaOperations = (context: PluginContext) => {
  const formulas = () => context.records(Formulas)
  const reactors = () => context.records(Reactors)

  return [
    defineOperation({
      rpc: 'ReactorFormulas.Create',
      http: 'POST /reactor-formulas',
      summary: 'Create a reactor formula',
      permission: 'reactor:create',
      audit: { entity: 'reactor_formula', verb: 'create' },
      input: FormulaInput,
      output: FormulaOutput,
      status: 201,
      location: ({ id }) => `/reactor-formulas/${id}`,
      examples: examples.createFormula,
      run: async (input, { caller, now }) => {
        const { members, warnings } = await parse(context, caller.tenantId, input)
        const formula = {
          ...members,
          id: newId(),
          acting_reactors: [],
          created_by: caller.actorId,
          created_at: now,
        }
        await formulas().insert(caller.tenantId, formula)
        return formulaOutput(formula, warnings)
      },
    }),
    defineOperation({
      rpc: 'ReactorFormulas.List',
      http: 'GET /reactor-formulas',
      summary: 'List reactor formulas',
      permission: 'reactor:read',
      audit: 'none',
      input: Type.Object({
        ...offsetQuery,
        name: nameFilter(3),
      }),
      output: listOf(FormulaOutput),
      examples: examples.listFormulas,
      run: async (input, { caller }) => {
        const page = namedPage(input)
        const result = await formulas().find(caller.tenantId, page)
        const shown = result.items.map((formula) => formulaOutput(formula))
        return offsetPage(shown, result.total, page)
      },
    }),
    defineOperation({
      rpc: 'ReactorFormulas.Get',
      http: 'GET /reactor-formulas/{id}',
      summary: 'Get a reactor formula',
      permission: 'reactor:read',
      audit: 'none',
      input: EntityId,
      output: FormulaOutput,
      examples: examples.getFormula,
      run: async ({ id }, { caller }) => {
        const formula = await formulas().get(caller.tenantId, id)
        if (formula === undefined) throw formulaNotFound(id)
        return formulaOutput(formula)
      },
    }),
    defineOperation({
      rpc: 'ReactorFormulas.Update',
      http: 'PUT /reactor-formulas/{id}',
      summary: 'Replace a reactor formula',
      permission: 'reactor:update',
      audit: { entity: 'reactor_formula', verb: 'update' },
      input: FormulaUpdate,
      output: FormulaOutput,
      examples: examples.updateFormula,
      run: async ({ id, ...input }, { caller, now }) => {
        const { tenantId } = caller
        if ((await formulas().get(tenantId, id)) === undefined) throw formulaNotFound(id)
        const { members, warnings } = await parse(context, tenantId, input)
        const formula = await retryOnConflict(async () => {
          const current = await formulas().read(tenantId, id)
          if (current === undefined) throw formulaNotFound(id)
          const { created_by, created_at, acting_reactors } = current.record
          // They run its code. A reactor that was saved concurrently has changed the version.
          if (acting_reactors.length > 0) await checkActing(context, caller)
          const next = {
            ...members,
            id,
            acting_reactors,
            created_by,
            created_at,
            modified_by: caller.actorId,
            modified_at: now,
          }
          await context.commit([formulas().replaceMutation(tenantId, next, current.version)])
          return next
        })
        return formulaOutput(formula, warnings)
      },
    }),
    defineOperation({
      rpc: 'ReactorFormulas.Delete',
      http: 'DELETE /reactor-formulas/{id}',
      summary: 'Delete a reactor formula that no reactor is of',
      permission: 'reactor:delete',
      audit: { entity: 'reactor_formula', verb: 'delete' },
      input: EntityId,
      output: Empty,
      status: 204,
      errors: ['conflict'],
      examples: examples.removeFormula,
      run: async ({ id }, { caller }) => {
        const { tenantId } = caller
        const used = await retryOnConflict(async () => {
          const current = await formulas().read(tenantId, id)
          if (current === undefined) throw formulaNotFound(id)
          const { total } = await reactors().find(tenantId, { where: { formula_id: id }, page: 1, size: 1 })
          // Not a conflict that a retry would resolve.
          if (total > 0) return total
          // Replaced at the version read: it fails when a reactor was created concurrently.
          await context.commit([
            formulas().replaceMutation(tenantId, current.record, current.version),
            formulas().deleteMutation(tenantId, id),
          ])
          return 0
        })
        if (used > 0)
          throw new AppError(
            'conflict',
            `Reactor formula "${id}" is used by ${used} reactors. Delete them, or give them another formula, first.`,
            { conflictWith: 'state' },
          )
        return {}
      },
    }),
  ]
}
