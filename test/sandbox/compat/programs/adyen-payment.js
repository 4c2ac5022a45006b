module.exports = async function (request) {
  const { amount, card, reference, returnUrl } = request.args.body;
  const minor = { JPY: 0, BHD: 3 };
  const digits = Object.prototype.hasOwnProperty.call(minor, amount.currency) ? minor[amount.currency] : 2;
  const target = new URL(returnUrl);
  target.searchParams.set('ref', reference);
  return {
    body: {
      amount: { currency: amount.currency, value: Math.round(Number(amount.value) * 10 ** digits) },
      paymentMethod: {
        type: 'scheme',
        number: card.number,
        expiryMonth: String(card.expiration_month).padStart(2, '0'),
        expiryYear: `${card.expiration_year}`,
        ...(card.cvc && { cvc: card.cvc }),
      },
      returnUrl: target.toString(),
      origin: target.origin,
    },
    headers: { 'X-API-Key': request.configuration.API_KEY },
  };
};
