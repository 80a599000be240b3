/**
 * The numbers of the locks that replicas of one database take for each other. A number keeps its meaning: replicas of an
 * earlier release take the same.
 */
export const ADVISORY_LOCKS = {
  migrations: 7_305_126,
  projectMigrations: 7_305_127,
  logs: 7_305_128,
  identity: 7_305_129,
  rewrap: 7_305_130,
  reading: 7_305_131,
} as const;

/**
 * Behind a lock that was waited for, before the catalog is looked at: a session that found no such schema or table before remembers
 * that, and hears of one made meanwhile as it locks a table.
 */
export const REFRESH_CATALOG = 'select from pg_catalog.pg_namespace limit 0';
