/**
 * The SQLite file and the three ways to speak to it. It knows no table. Calls are synchronous, so what happens inside one
 * `transaction` happens as a whole or not at all, and nothing else of this process comes between.
 */
import { mkdirSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'

export interface Database {
  /** The rows of a query; `T` names the columns that it asks for. */
  all<T>(sql: string, ...values: SQLInputValue[]): T[]
  /** The first row; null: there is none. */
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the caller names the columns it asks for
  one<T>(sql: string, ...values: SQLInputValue[]): T | null
  /** How many rows were changed. */
  run(sql: string, ...values: SQLInputValue[]): number
  /** Commits what `work` did when it returns, undoes it when it throws. Inside another one it is a part of that. */
  transaction<T>(work: () => T): T
  close(): void
}

const SCHEMA = readFileSync(new URL('schema.sql', import.meta.url), 'utf8')

/** @param path a file, made with its folder where it is missing; `:memory:` for tests */
export function openDatabase(path: string): Database {
  if (path !== ':memory:') mkdirSync(dirname(path), { recursive: true })
  const database = new DatabaseSync(path)
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON;')
  database.exec(SCHEMA)
  const statements = new Map<string, StatementSync>()
  let inside = false

  function prepared(sql: string): StatementSync {
    const known = statements.get(sql)
    if (known !== undefined) return known
    const statement = database.prepare(sql)
    statements.set(sql, statement)
    return statement
  }

  return {
    // The schema is STRICT, so a column has the type it was declared with: the caller names it once, here it is believed.
    all: <T>(sql: string, ...values: SQLInputValue[]) => prepared(sql).all(...values) as T[],
    one: <T>(sql: string, ...values: SQLInputValue[]) => (prepared(sql).get(...values) as T | undefined) ?? null,
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
