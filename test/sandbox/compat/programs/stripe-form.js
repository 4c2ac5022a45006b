const encode = (value, prefix) =>
  Object.entries(value).flatMap(([key, each]) => {
    const name = prefix ? `${prefix}[${key}]` : key;
    return each !== null && typeof each === 'object' ? encode(each, name) : [`${encodeURIComponent(name)}=${encodeURIComponent(each)}`];
  });
module.exports = async ({ args: { body }, configuration }) => ({
  body: {
    form: encode({
      type: 'card',
      card: { number: body.number, exp_month: body.expiration_month, exp_year: body.expiration_year, cvc: body.cvc },
      billing_details: { name: body.name, address: { line1: 'Straße 1', city: null } },
      expand: ['customer', 'payment'],
    }).join('&'),
  },
  headers: { Authorization: `Bearer ${configuration.KEY}`, 'Stripe-Version': '2022-11-15' },
});
