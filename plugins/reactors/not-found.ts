import { AppError, notFound } from '#sdk'

export const noReactor = (id: string) => notFound('reactor_not_found', id)

export const noFormula = (id: string) => notFound('formula_not_found', id)

export const noResult = () =>
  new AppError(
    'result_not_found',
    'There is no result of this request: it is not ready yet, was handed out, was kept for its 15 minutes, went with a token that it used, or never was.',
  )
