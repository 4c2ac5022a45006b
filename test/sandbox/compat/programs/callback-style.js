var util = require('util');
function lookup(id, done) {
  process.nextTick(function () {
    if (!id) return done(new TypeError('id is missing'));
    done(null, { id: id, name: util.format('name of %s', id) });
  });
}
module.exports = function (req) {
  return util.promisify(lookup)(req.args.body.id).then(
    function (found) {
      return { body: found, headers: {} };
    },
    function (error) {
      return { body: { error: String(error) }, headers: {} };
    },
  );
};
