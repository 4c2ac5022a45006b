const brands = [['visa', /^4/], ['mastercard', /^(5[1-5]|2(22[1-9]|2[3-9]|[3-6]|7[01]|720))/], ['amex', /^3[47]/]];
const luhn = (number) => [...number].reverse().map(Number).reduce((sum, digit, index) => sum + (index % 2 ? (digit > 4 ? digit * 2 - 9 : digit * 2) : digit), 0) % 10 === 0;
module.exports = async ({ args }) => ({
  body: args.body.numbers.map((number) => ({ brand: brands.find(([, pattern]) => pattern.test(number))?.[0] ?? 'unknown', valid: luhn(number), bin: number.slice(0, 8) })),
  headers: {},
});
