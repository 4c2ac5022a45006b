const { AuthorizationError, BadRequestError } = require('@basis-theory/basis-theory-reactor-formulas-sdk-js');
module.exports = async ({ bt, args }) => {
  try {
    return { raw: await bt.tokens.retrieve(args.token) };
  } catch (error) {
    if (error.status === 403) throw new AuthorizationError('not allowed: ' + error.message);
    throw new BadRequestError(error);
  }
};
