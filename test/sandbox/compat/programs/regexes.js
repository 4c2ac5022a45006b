module.exports = async ({ args: { body } }) => {
  const phone = body.phone.replace(/\D+/g, '').replace(/^(?:00)?49|^0/, '+49');
  const redacted = body.text.replace(/\b(?:\d[ -]?){13,16}\b/g, (match) => match.replace(/\d(?=(?:\D*\d){4})/g, '•'));
  const names = [...body.text.matchAll(/(?<=^|\s)(\p{Lu}\p{Ll}+)/gu)].map(([, name]) => name);
  return { body: { phone, redacted, names, slug: body.text.normalize('NFD').replace(/[\u0300-\u036f]/g, '').toLowerCase().replace(/[^a-z0-9]+/g, '-') }, headers: {} };
};
