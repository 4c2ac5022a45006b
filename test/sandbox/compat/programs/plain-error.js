module.exports = async ({ args }) => {
  const total = args.body.items.reduce((sum, item) => sum + item.price.amount, 0);
  return { body: { total }, headers: {} };
};
