module.exports = async ({ args: { query, path } }) => {
  const params = new URLSearchParams(query);
  params.delete('token');
  params.append('added', 'a b&c');
  params.sort();
  const url = new URL(path + '?' + params, 'https://api.example.com/v1/');
  return { body: { href: url.href, all: Object.fromEntries(params), ids: params.getAll('id'), host: url.hostname }, headers: {} };
};
