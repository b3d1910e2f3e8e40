/**
 * The SQLite file and the ways to speak to it. It knows no table. Calls are synchronous, so what happens inside one
 * `transaction` happens as a whole or not at all, and nothing else of this process comes between.
 *
 * The three that take SQL are template tags: `` one<Row>`SELECT … WHERE id = ${id}` ``. What stands in `${}` is always bound and
 * never becomes part of the text, so no value can change what a statement does.
 */
import { mkdirSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'

export interface Database {
  /** The rows of a query; `T` names the columns that it asks for. */
  readonly all: <T>(sql: TemplateStringsArray, ...values: SQLInputValue[]) => T[]
  /** The first row; null: there is none. */
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the caller names the columns it asks for
  readonly one: <T>(sql: TemplateStringsArray, ...values: SQLInputValue[]) => T | null
  /** How many rows were changed. */
  readonly run: (sql: TemplateStringsArray, ...values: SQLInputValue[]) => number
  /** Commits what `work` did when it returns, undoes it when it throws. Inside another one it is a part of that. */
  readonly transaction: <T>(work: () => T) => T
  close(): void
}

const SCHEMA = readFileSync(new URL('../schema.sql', import.meta.url), 'utf8')
/** Raised when `schema.sql` changes: a file of another version is not opened. A real harness migrates. */
const VERSION = 2

/** @param path a file, made with its folder where it is missing; `:memory:` for tests. Throws where it is no file of this version */
export function openDatabase(path: string): Database {
  if (path !== ':memory:') mkdirSync(dirname(path), { recursive: true })
  const database = new DatabaseSync(path)
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON;')
  const { user_version: version } = database.prepare('PRAGMA user_version').get() as { user_version: number }
  const isNew = database.prepare('SELECT 1 FROM sqlite_schema').get() === undefined
  if (!isNew && version !== VERSION) {
    database.close()
    throw new Error(`${path} was written by another version of this example; move it away and start again`)
  }
  database.exec(`${SCHEMA}; PRAGMA user_version = ${VERSION}`)
  const statements = new Map<TemplateStringsArray, StatementSync>()
  let inside = false

  function prepared(sql: TemplateStringsArray): StatementSync {
    const known = statements.get(sql)
    if (known !== undefined) return known
    const statement = database.prepare(sql.join('?'))
    statements.set(sql, statement)
    return statement
  }

  return {
    // The schema is STRICT, so a column has the type it was declared with: the caller names it once, here it is believed.
    all: <T>(sql: TemplateStringsArray, ...values: SQLInputValue[]) => prepared(sql).all(...values) as T[],
    one: <T>(sql: TemplateStringsArray, ...values: SQLInputValue[]) => (prepared(sql).get(...values) as T) ?? null,
    run: (sql, ...values) => Number(prepared(sql).run(...values).changes),
    transaction(work) {
      if (inside) return work()
      database.exec('BEGIN IMMEDIATE')
      inside = true
      try {
        const value = work()
        database.exec('COMMIT')
        return value
      } catch (error) {
        database.exec('ROLLBACK')
        throw error
      } finally {
        inside = false
      }
    },
    close: () => database.close(),
  }
}
