-- What must still be answered.
select 1
SELECT 1;
select * from t
select * from d.t
select "n" from "d"."t"
select count(*) from t where s like '%; drop table t; --%'
select '; drop table t' as s
select 'it''s', $$a 'text'$$
select 1 -- a comment
select /* inside */ 1
select n as "insert", s as "delete" from t
with t as (select 1 as n) select * from t
with recursive r(k) as (select 1 union all select k + 1 from r where k < 5) select sum(k) from r
values (1, 'a'), (2, 'b')
select * from (values (1), (2)) as v(a)
select * from unnest([1, 2, 3])
select a.n from t a join t b on a.n = b.n
select a.n from t a, lateral (select 1) b
select n from t union all select 1 union select 2
select n, row_number() over (order by n) from t
select n from t order by n nulls last limit 1 offset 1
select n from t limit 0
select case when n = 1 then 'one' end from t
select n from t where n in (select n from t) and exists (select 1 from t)
select n from t where n not in (select n from t) or n is null
select (select max(n) from t)
select now() - 1 day, current_date, extract(year from now())
select upper(s), length(s), substr(s, 1, 2), replace(s, 'a', 'b') from t
select cast(n as varchar), n::float(2), s::ljust(10) from t
select random() < 2, abs(-1), round(1.5), power(2, 10)
select array_agg(n), string_agg(s, ',') from t
select lpad(s, 5), rpad(s, 5) from t
-- what tells about rows and queries, and runs nothing else
show databases
show tables
show tables from e
show tables like 't%'
show columns from t
show columns from e.t
show views
describe t
desc "t"
describe select n, count(*) from t group by n
explain select * from t
explain analyze select n, count(*) from t group by n
explain verbose select * from t
explain (analyze, verbose off) select n from t
explain query plan select n from t
explain with x as (select n from t) select * from x
explain (select n from t)
select * from information_schema.schemata
select * from information_schema.tables
select * from information_schema.columns where table_name = 't'
select * exclude (s) from t
select * except (n) from t
select * replace (n + 1 as n) from t
select row_id, * from t
select * from generate_series(1, 3)
with generate_series as (select 1) select * from generate_series(1, 3)
select * from lateral generate_series(1, 3)
select '{"a": [1]}' -> 'a' ->> 0 as x
