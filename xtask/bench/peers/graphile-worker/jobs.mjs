// Puts jobs that do nothing into graphile-worker's queue and runs them, for `cargo xtask bench`.
//
// Arguments: the database's URL, how many jobs, how many at a time. Prints `figures JOBS MILLISECONDS BYTES`: from the
// first job's start until the last is marked as done, and what is resident then.
import { EventEmitter } from 'node:events';
import { Logger, makeWorkerUtils, run } from 'graphile-worker';

const [connectionString, jobs, concurrentJobs] = process.argv.slice(2);
const total = Number(jobs);
const BATCH = 1000;

// A line for each job would be most of the work.
const logger = new Logger(() => () => {});
const preset = {
  worker: {
    connectionString,
    concurrentJobs: Number(concurrentJobs),
    maxPoolSize: Number(concurrentJobs) + 1,
    logger,
  },
};

const utils = await makeWorkerUtils({ preset });
await utils.migrate();
for (let from = 0; from < total; from += BATCH) {
  const count = Math.min(BATCH, total - from);
  const specs = Array.from({ length: count }, (_, n) => ({ identifier: 'nothing', payload: { n: from + n } }));
  await utils.addJobs(specs);
}
await utils.release();

const events = new EventEmitter();
let begun;
events.once('job:start', () => {
  begun = performance.now();
});
const done = new Promise((resolve, reject) => {
  let left = total;
  events.on('job:complete', ({ error }) => {
    if (error) reject(error);
    left -= 1;
    if (left === 0) resolve(performance.now());
  });
});
const runner = await run({ preset, events, taskList: { nothing: async () => {} } });
const took = (await done) - begun;
console.log(`figures ${total} ${took.toFixed(1)} ${process.memoryUsage().rss}`);
await runner.stop();
