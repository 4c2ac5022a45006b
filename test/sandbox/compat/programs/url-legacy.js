const url = require('url');
const path = require('path');
module.exports = async ({ args }) => {
  const parsed = url.parse(args.body.url, true);
  return {
    body: {
      host: parsed.host,
      query: { ...parsed.query },
      file: path.posix.basename(parsed.pathname, '.json'),
      next: url.resolve(args.body.url, '../next?x=1'),
      formatted: url.format({ protocol: 'https', hostname: 'a.test', pathname: '/p', query: { q: 'ü' } }),
    },
    headers: {},
  };
};
