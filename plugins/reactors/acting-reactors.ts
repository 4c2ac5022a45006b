import type { Mutation, PluginContext } from '#sdk'
import { type FormulaRecord, Formulas, type ReactorRecord } from './collections.ts'

/** The formula with this reactor listed as one that acts as an application, or not. */
export const withReactor = (formula: FormulaRecord, reactorId: string, isActing: boolean): FormulaRecord => {
  const others = formula.acting_reactors.filter((id) => id !== reactorId)
  return { ...formula, acting_reactors: isActing ? [...others, reactorId] : others }
}

/** Removes a reactor from its formula's list, for commits that delete the reactor or give it other code. */
export const releaseFormula = async (
  context: PluginContext,
  tenantId: string,
  { id, formula_id, application_id }: ReactorRecord,
): Promise<readonly Mutation[]> => {
  if (formula_id === undefined || application_id === undefined) return []
  const formulas = context.records(Formulas)
  const stored = await formulas.read(tenantId, formula_id)
  if (stored === undefined) return []
  return [formulas.replaceMutation(tenantId, withReactor(stored.record, id, false), stored.version)]
}
