const errors = require('sidevault');
module.exports = async ({ args: { body } }) => {
  if (!body.amount) throw new errors.BadRequestError({ amount: ['is required'] });
  if (body.amount > 1000) throw new errors.InvalidPaymentMethodError();
  if (body.amount > 100) throw new errors.RateLimitError('slow down');
  return { body, headers: {} };
};
