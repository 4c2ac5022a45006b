async function* pages(total) {
  for (let page = 1; page <= total; page++) {
    await new Promise((resolve) => setImmediate(resolve));
    yield { page, items: Array.from({ length: page }, (_, index) => index * page) };
  }
}
module.exports = async ({ args }) => {
  const items = [];
  for await (const page of pages(args.body.pages)) items.push(...page.items);
  const fibonacci = (function* () {
    let [a, b] = [0n, 1n];
    for (;;) yield ([a, b] = [b, a + b])[0];
  })();
  const hundredth = Array.from({ length: 100 }, () => fibonacci.next().value).at(-1);
  return { body: { items, hundredth: hundredth.toString() }, headers: {} };
};
