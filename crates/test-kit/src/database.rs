use std::str::FromStr;

use db_kit::{DatabaseUrl, Migrations, Pool, PoolOptions};
use diesel::{Connection, PgConnection, connection::SimpleConnection};
use tempfile::TempDir;
use url::Url;
use uuid::Uuid;

use crate::TestBackend;

/// A database that no other test uses; deleted when this is dropped.
#[derive(Debug)]
pub struct TestDb {
    url: String,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    /// Deleted together with the value.
    Sqlite {
        _folder: TempDir,
    },
    Postgres {
        name: String,
    },
}

impl TestDb {
    /// Creates an empty database. `name` (letters) only helps a person who looks at the server.
    pub fn empty(name: &str) -> Self {
        match TestBackend::current() {
            TestBackend::Sqlite => Self::sqlite(name),
            TestBackend::Postgres => Self::postgres(name),
        }
    }

    /// Creates a database with `migrations` applied.
    pub async fn fresh(name: &str, migrations: Migrations) -> Self {
        let db = Self::empty(name);
        let pool = db.pool(1);
        tokio::task::spawn_blocking(move || db_kit::migrations::run(&pool, migrations))
            .await
            .unwrap()
            .expect("the migrations apply");
        db
    }

    /// Creates an empty SQLite database, whatever the backend of this run.
    pub fn sqlite(name: &str) -> Self {
        let folder = tempfile::Builder::new()
            .prefix("holdfast-test-")
            .tempdir()
            .unwrap();
        let url = format!("sqlite://{}/{name}.db", folder.path().display());
        Self {
            url,
            kind: Kind::Sqlite { _folder: folder },
        }
    }

    /// Returns the URL in the form of the configuration.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the parsed URL.
    pub fn database_url(&self) -> DatabaseUrl {
        DatabaseUrl::from_str(&self.url).unwrap()
    }

    /// Opens a pool of `size` connections.
    pub fn pool(&self, size: u32) -> Pool {
        Pool::open(PoolOptions::new(self.database_url(), size))
    }

    fn postgres(name: &str) -> Self {
        let name = format!("holdfast_test_{name}_{}", Uuid::new_v4().simple());
        administer(&format!("CREATE DATABASE \"{name}\" TEMPLATE template0"));
        let mut url = Url::parse(&TestBackend::postgres_url()).unwrap();
        url.set_path(&name);
        Self {
            url: url.into(),
            kind: Kind::Postgres { name },
        }
    }
}

impl Drop for TestDb {
    fn drop(&mut self) {
        if let Kind::Postgres { name } = &self.kind {
            administer(&format!("DROP DATABASE IF EXISTS \"{name}\" WITH (FORCE)"));
        }
    }
}

fn administer(statement: &str) {
    let mut admin = PgConnection::establish(&TestBackend::postgres_url())
        .expect("the PostgreSQL server of HOLDFAST_TEST_PG answers");
    admin.batch_execute(statement).expect(statement);
}
